#pragma once

/// A header that cites. Source: known, Sec. 1; rumour,
/// p. 2.
