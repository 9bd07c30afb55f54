// Package sdk holds the SDKs of the lock protocol for languages other than Go: one file each.
// The one for Go is the package adapter, a module of its own.
package sdk

import _ "embed"

// Python is sdk/python/sim_adapter.py.
//
//go:embed python/sim_adapter.py
var Python string

// Node is sdk/node/sim_adapter.mjs.
//
//go:embed node/sim_adapter.mjs
var Node string

// Ruby is sdk/ruby/sim_adapter.rb.
//
//go:embed ruby/sim_adapter.rb
var Ruby string

// PHP is sdk/php/sim_adapter.php.
//
//go:embed php/sim_adapter.php
var PHP string

// Java is sdk/java/SimAdapter.java.
//
//go:embed java/SimAdapter.java
var Java string

// Rust is sdk/rust/sim_adapter.rs.
//
//go:embed rust/sim_adapter.rs
var Rust string
