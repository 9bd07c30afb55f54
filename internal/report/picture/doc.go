// Package picture draws a run: who believed to hold the lock and when, whose keys the nodes really
// had, what the resource let happen, and which faults struck. Build turns a history into a Scene of
// such facts; an easel lays the scene out as a Picture of lanes, shapes and labels; markup writes that
// as SVG, without templates, because a browser draws it anew with each change. All times are run time.
package picture
