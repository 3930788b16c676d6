// The list has one word more, and lacks one.
#define INTERLACER_REASONS(X) X(EXPLAINED) X(NOT_EXPLAINED)
