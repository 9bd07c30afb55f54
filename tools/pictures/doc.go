// Pictures draws two pictures of the README as a browser shows them: the guarantees of a report card, and the playground.
//
//	pictures -card card.html -play playground.html [-o docs/images]
//
// The pages are those that sim wrote; the card gets a margin.
package main
