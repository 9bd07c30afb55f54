package picture

import _ "embed" // the style of pictures

//go:embed picture.css
var css string

// CSS is the style of pictures. The colours in it are those of the page.
func CSS() string { return css }
