module github.com/redlock-sim/redlock-sim/adapters/museum/gozero

go 1.25.0

require (
	github.com/redlock-sim/redlock-sim/adapter v0.0.0
	github.com/tal-tech/go-zero v1.2.4
)

require (
	github.com/go-redis/redis v6.15.9+incompatible // indirect
	github.com/spaolacci/murmur3 v1.1.0 // indirect
	go.opentelemetry.io/otel v1.1.0 // indirect
	go.opentelemetry.io/otel/trace v1.1.0 // indirect
	go.uber.org/automaxprocs v1.4.0 // indirect
	gopkg.in/yaml.v2 v2.4.0 // indirect
)

replace github.com/redlock-sim/redlock-sim/adapter => ../../../adapter
