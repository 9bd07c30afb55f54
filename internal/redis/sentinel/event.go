package sentinel

import "time"

// Word is Redis' word for what happened.
type Word = string

// Words that a sentinel tells. Those of its joining a set (+slave, +sentinel) it does not: here all
// know each other.
const (
	Monitor               Word = "+monitor" // its process begins
	TiltOn                Word = "+tilt"
	TiltOff               Word = "-tilt"
	SDown                 Word = "+sdown"
	SDownOff              Word = "-sdown"
	ODown                 Word = "+odown"
	ODownOff              Word = "-odown"
	NewEpoch              Word = "+new-epoch"
	TryFailover           Word = "+try-failover"
	VoteForLeader         Word = "+vote-for-leader"
	ElectedLeader         Word = "+elected-leader"
	StateSelectSlave      Word = "+failover-state-select-slave"
	SelectedSlave         Word = "+selected-slave"
	StateSendSlaveofNoone Word = "+failover-state-send-slaveof-noone"
	StateWaitPromotion    Word = "+failover-state-wait-promotion"
	PromotedSlave         Word = "+promoted-slave"
	StateReconfSlaves     Word = "+failover-state-reconf-slaves"
	SlaveReconfSent       Word = "+slave-reconf-sent"
	SlaveReconfSentBE     Word = "+slave-reconf-sent-be"
	SlaveReconfInprog     Word = "+slave-reconf-inprog"
	SlaveReconfDone       Word = "+slave-reconf-done"
	FailoverEnd           Word = "+failover-end"
	FailoverEndForTimeout Word = "+failover-end-for-timeout"
	SwitchMaster          Word = "+switch-master"
	AbortNotElected       Word = "-failover-abort-not-elected"
	AbortNoGoodSlave      Word = "-failover-abort-no-good-slave"
	AbortSlaveTimeout     Word = "-failover-abort-slave-timeout"
	ConfigUpdateFrom      Word = "+config-update-from"
	ConvertToSlave        Word = "+convert-to-slave"
	FixSlaveConfig        Word = "+fix-slave-config"
	Reboot                Word = "+reboot"
	RoleChange            Word = "+role-change"
	RoleChangeOff         Word = "-role-change"
)

// Words are all of them.
var Words = []Word{
	Monitor, TiltOn, TiltOff, SDown, SDownOff, ODown,
	ODownOff, NewEpoch, TryFailover, VoteForLeader, ElectedLeader, StateSelectSlave,
	SelectedSlave, StateSendSlaveofNoone, StateWaitPromotion, PromotedSlave, StateReconfSlaves, SlaveReconfSent,
	SlaveReconfSentBE, SlaveReconfInprog, SlaveReconfDone, FailoverEnd, FailoverEndForTimeout, SwitchMaster,
	AbortNotElected, AbortNoGoodSlave, AbortSlaveTimeout, ConfigUpdateFrom, ConvertToSlave, FixSlaveConfig,
	Reboot, RoleChange, RoleChangeOff,
}

// Event is something that a sentinel tells of. At and Sentinel are the driver's to fill in.
type Event struct {
	At       time.Duration
	Sentinel string
	Word     Word
	// Target is the server or the sentinel that it is about: of +switch-master the new primary, of
	// +vote-for-leader who gets the vote. Epoch is 0 where Redis tells none.
	Target string
	Epoch  uint64
}

func (s *Sentinel) tell(w Word, ri *instance) { s.tellEpoch(w, ri, 0) }

func (s *Sentinel) tellEpoch(w Word, ri *instance, epoch uint64) {
	e := Event{Word: w, Epoch: epoch}
	if ri != nil {
		e.Target = ri.name
	}
	s.config.Tell(e)
}
