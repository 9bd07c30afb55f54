package scenario

// WholeSchema is for tests.
var WholeSchema = wholeSchema
