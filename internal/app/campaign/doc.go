// Package campaign spreads a search over many processes and machines. A PostgreSQL database holds
// the campaigns, and River's jobs, one for each range of runs. What a range came to is stored in one transaction
// with the end of its job, under a key that the range can have once: so a range counts once, whoever
// dies, and however many workers made it.
package campaign
