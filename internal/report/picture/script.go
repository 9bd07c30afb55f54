//go:build !js

package picture

import _ "embed" // the script of pictures

//go:embed picture.js
var script string

// Script is the script of pictures on a page.
func Script() string { return script }
