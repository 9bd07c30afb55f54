// Package yamlform fills Go structs from YAML by the tags of their fields, and says with line and
// column what does not fit: the Decoder collects all problems. By the same tags it has defaults, holds
// values that no file gave to their limits (Limits), writes values so that they are read back (Encode),
// changes a value in a text and leaves the rest as it is (SetAt), and makes the JSON Schema (Schemas).
//
// A field's tag has its key (yaml), what it is for (doc), its default, its bounds (min, max, pattern,
// values; least, most and names for lists and dictionaries), whether it is required, and which key may
// stand in its place (instead). A type with DecodeYAML or UnmarshalText reads itself.
package yamlform
