#pragma once

/// Included by ProcessGroupGloo.hpp; nothing of it is used there.
