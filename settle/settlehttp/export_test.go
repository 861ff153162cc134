package settlehttp

// RetryAfter lets a fuzz target call the parser without a server.
var RetryAfter = retryAfter
