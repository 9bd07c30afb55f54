package campaign

import (
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/redlock-sim/redlock-sim/internal/world/live/postgres"
)

// Local is how to connect to a server of ours.
func Local(k *postgres.Kept) (*pgxpool.Config, error) {
	config, err := pgxpool.ParseConfig(k.URL())
	if err != nil {
		return nil, fmt.Errorf("failed to connect to the database: %w", err)
	}
	config.ConnConfig.DialFunc = k.Dial
	return config, nil
}
