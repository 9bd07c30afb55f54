package scenario

import (
	"reflect"

	"github.com/redlock-sim/redlock-sim/internal/lock"
)

// Switches are the safety rules of the locks.
type Switches struct {
	Quorum            string `yaml:"quorum" doc:"a majority of the nodes configured, or only of those reachable (redlock-py, pull request 6)" default:"configured" values:"configured,reachable"`
	RecheckElapsed    bool   `yaml:"recheck_elapsed" doc:"after the last answer, subtract the time that acquiring took (redsync 72, node-redlock 296)" default:"true"`
	Extend            string `yaml:"extend" doc:"a renewal prolongs the client's own key only, or sets the key where it has expired (redlock-rb 36)" default:"only-if-mine" values:"only-if-mine,set-if-absent"`
	Release           string `yaml:"release" doc:"compare the value before deleting, or delete whatever is there (redisson 542)" default:"compare" values:"compare,delete"`
	ExtendNeedsQuorum bool   `yaml:"extend_needs_quorum" doc:"a renewal counts only with a majority in time (redsync 72)" default:"true"`
	NodeError         string `yaml:"node_error" doc:"a node that cannot be asked counts as a no, or makes acquire fail (redlock-rb 60)" default:"counts-as-no" values:"counts-as-no,raises"`
	Value             string `yaml:"value" doc:"each attempt writes a value of its own, or all attempts of a client the same" default:"per-attempt" values:"per-attempt,per-client"`
	StopRenewal       bool   `yaml:"stop_renewal" doc:"release stops the watchdog (redisson 7272)" default:"true"`
	CheckWait         bool   `yaml:"check_wait" doc:"look at how many replicas WAIT says have the key (redisson 3994)" default:"true"`
	TokenAfterGrant   bool   `yaml:"token_after_grant" doc:"a token that is drawn beside the lock is drawn once the lock is granted, not before" default:"true"`
	CleanUp           bool   `yaml:"clean_up" doc:"an attempt that failed, or was never answered, takes its keys away again" default:"true"`
}

// Mistakes are the rules that are switched off.
func (s Switches) Mistakes() lock.Mistakes {
	return lock.Mistakes{
		ReachableQuorum: s.Quorum == "reachable",
		TrustElapsed:    !s.RecheckElapsed,
		ExtendAbsent:    s.Extend == "set-if-absent",
		PlainDelete:     s.Release == "delete",
		ExtendAnyhow:    !s.ExtendNeedsQuorum,
		RaiseOnError:    s.NodeError == "raises",
		SameValue:       s.Value == "per-client",
		KeepRenewing:    !s.StopRenewal,
		IgnoreWait:      !s.CheckWait,
		TokenFirst:      !s.TokenAfterGrant,
		NoCleanup:       !s.CleanUp,
	}
}

// check refuses to switch off a rule that the algorithm does not have.
func (s *Switches) check(d *decoder, a lock.Algorithm) {
	given := fieldsOf(reflect.ValueOf(s).Elem())
	for _, key := range keysOf(given) {
		var one Switches
		v := reflect.ValueOf(&one).Elem()
		setDefaults(v)
		fieldsOf(v)[key].value.Set(given[key].value)
		if !a.CanMake(one.Mistakes()) {
			d.problemAt("lock.switches."+key, "%s has no such rule to switch off", a.Name).Allowed = rulesOf(a)
		}
	}
}

// rulesOf lists the switches that the algorithm has.
func rulesOf(a lock.Algorithm) []string {
	var list []string
	var standard Switches
	setDefaults(reflect.ValueOf(&standard).Elem())
	for _, key := range keysOf(fieldsOf(reflect.ValueOf(&standard).Elem())) {
		off := standard
		field := fieldsOf(reflect.ValueOf(&off).Elem())[key]
		if field.value.Kind() == reflect.Bool {
			field.value.SetBool(false)
		} else {
			field.value.SetString(words(field.tag)[1])
		}
		if a.CanMake(off.Mistakes()) {
			list = append(list, key)
		}
	}
	return list
}
