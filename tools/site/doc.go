// Site builds the field guide: a static site made from the scenarios, the docs and the track record. It needs no server, and
// its pages ask for nothing from anywhere else.
//
//	site [-o .cache/site] [-play .cache/playground.html]
//
// Each scenario runs in the virtual world, with the seed 42: its page has the pictures, the verdicts and the whole report.
// docs/guide has a page for each guarantee, the debate and how to choose a lock; each of these stands in the field guide.
// All other pages of docs are listed by the folder they are in: guide, reference, internals. Pages in Chinese are in zh.
//
// Each page is also there as Markdown, under the same name with .md, and llms.txt lists these: for coding agents.
package main
