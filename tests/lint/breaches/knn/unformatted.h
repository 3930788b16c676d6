int  Unformatted( );
