package client

import (
	"net/url"
	"os"
)

// Address is where a node listens, and what it asks of those who come.
type Address struct {
	Name    string `json:"name"`
	Address string `json:"address"`
	// Kind is what listens there; empty: a Redis server.
	Kind StoreKind `json:"kind,omitempty"`
	// TLS is left out where the node speaks plainly.
	TLS *TLS `json:"tls,omitempty"`
	// Username, and the environment variable that holds the password, are left
	// out where the node asks for none.
	Username    string `json:"username,omitempty"`
	PasswordEnv string `json:"password_env,omitempty"`
	// Secret is the password itself, where it is known: that of a server of the run.
	Secret string `json:"secret,omitempty"`
}

// StoreKind names what listens at an Address.
type StoreKind string

const (
	// Etcd is an etcd server, spoken to over its JSON gateway (HTTP).
	Etcd StoreKind = "etcd"
	// Postgres is a PostgreSQL server with the resource in its database postgres.
	Postgres StoreKind = "postgres"
	// Zookeeper is a ZooKeeper server. Only lock programs speak to one.
	Zookeeper StoreKind = "zookeeper"
	// Nats is a NATS server with JetStream. Only lock programs speak to one.
	Nats StoreKind = "nats"
)

// TLS says how to know the server behind an address.
type TLS struct {
	// ServerName is the name in its certificate: Address is that of a proxy.
	ServerName string `json:"server_name"`
	// CA is a file with the certificates to trust; empty: those of the machine.
	CA string `json:"ca,omitempty"`
}

// Password is the secret, or what the variable holds.
func (a Address) Password() string {
	if a.PasswordEnv == "" {
		return a.Secret
	}
	return os.Getenv(a.PasswordEnv)
}

// PostgresURL is how to connect to a server of the kind Postgres.
func (a Address) PostgresURL() string {
	return (&url.URL{Scheme: "postgres", User: url.UserPassword(a.Username, a.Password()),
		Host: a.Address, Path: "postgres", RawQuery: "sslmode=disable"}).String()
}
