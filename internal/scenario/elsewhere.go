package scenario

// Elsewhere is what the nodes are, where they are not processes of this machine.
type Elsewhere struct {
	Image string `yaml:"image" doc:"with --nodes docker: the image to run, any of Redis 6 to 8 or Valkey; by default one of ours, with libfaketime" pattern:"^[A-Za-z0-9][A-Za-z0-9._/:@-]{0,255}$"`
}
