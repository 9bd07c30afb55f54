module github.com/redlock-sim/redlock-sim/adapter

go 1.22
