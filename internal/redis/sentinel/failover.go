package sentinel

import (
	"cmp"
	"slices"
)

// voteLeader is sentinelVoteLeader.
func (s *Sentinel) voteLeader(epoch uint64, candidate string) (leader string, leaderEpoch uint64) {
	m := s.master
	if epoch > s.currentEpoch {
		s.currentEpoch = epoch
		s.flushConfig()
		s.tellEpoch(NewEpoch, m, epoch)
	}
	if m.leaderEpoch < epoch && s.currentEpoch <= epoch {
		m.leader, m.leaderEpoch = candidate, s.currentEpoch
		s.flushConfig()
		s.config.Tell(Event{Word: VoteForLeader, Target: candidate, Epoch: m.leaderEpoch})
		if candidate != s.config.Name {
			m.failoverStartTime = s.now + int64(s.config.Rand(maxDesync))
		}
	}
	return m.leader, m.leaderEpoch
}

// getLeader is sentinelGetLeader; empty: there is none.
func (s *Sentinel) getLeader(epoch uint64) string {
	votes, winner := make(map[string]int), ""
	count := func(candidate string) {
		votes[candidate]++
		if votes[candidate] > votes[winner] {
			winner = candidate
		}
	}
	for _, o := range s.others {
		if o.leader != "" && o.leaderEpoch == s.currentEpoch {
			count(o.leader)
		}
	}
	if mine, mineEpoch := s.voteLeader(epoch, cmp.Or(winner, s.config.Name)); mine != "" && mineEpoch == epoch {
		count(mine)
	}
	if votes[winner] < max((len(s.others)+1)/2+1, s.config.Quorum) {
		return ""
	}
	return winner
}

// enter lets the failover go on in another state.
func (s *Sentinel) enter(state failoverState) {
	s.master.failoverState, s.master.failoverStateChangeTime = state, s.now
}

// startFailoverIfNeeded is sentinelStartFailoverIfNeeded, with sentinelStartFailover.
func (s *Sentinel) startFailoverIfNeeded() bool {
	m := s.master
	if !m.oDown || m.failoverInProgress || s.now-m.failoverStartTime < s.failoverTimeout()*2 {
		return false
	}
	s.enter(stateWaitStart)
	m.failoverInProgress = true
	s.currentEpoch++
	m.failoverEpoch = s.currentEpoch
	s.tellEpoch(NewEpoch, m, s.currentEpoch)
	s.tell(TryFailover, m)
	m.failoverStartTime = s.now + int64(s.config.Rand(maxDesync))
	return true
}

// failoverStateMachine is sentinelFailoverStateMachine.
func (s *Sentinel) failoverStateMachine() {
	if !s.master.failoverInProgress {
		return
	}
	switch s.master.failoverState {
	case stateWaitStart:
		s.failoverWaitStart()
	case stateSelectSlave:
		s.failoverSelectSlave()
	case stateSendSlaveofNoone:
		s.failoverSendSlaveOfNoOne()
	case stateWaitPromotion:
		if s.timedOut() { // sentinelFailoverWaitPromotion
			s.abort(AbortSlaveTimeout)
		}
	case stateReconfSlaves:
		s.failoverReconfNextSlave()
	case stateNone, stateUpdateConfig:
	}
}

// timedOut: the state lasts too long.
func (s *Sentinel) timedOut() bool {
	return s.now-s.master.failoverStateChangeTime > s.failoverTimeout()
}

// failoverWaitStart is sentinelFailoverWaitStart.
func (s *Sentinel) failoverWaitStart() {
	m := s.master
	if s.getLeader(m.failoverEpoch) != s.config.Name {
		if s.now-m.failoverStartTime > min(electionTimeout, s.failoverTimeout()) {
			s.abort(AbortNotElected)
		}
		return
	}
	s.tell(ElectedLeader, m)
	s.enter(stateSelectSlave)
	s.tell(StateSelectSlave, m)
}

// failoverSelectSlave is sentinelFailoverSelectSlave.
func (s *Sentinel) failoverSelectSlave() {
	slave := s.selectSlave()
	if slave == nil {
		s.abort(AbortNoGoodSlave)
		return
	}
	s.tell(SelectedSlave, slave)
	slave.promoted, s.master.promotedSlave = true, slave
	s.enter(stateSendSlaveofNoone)
	s.tell(StateSendSlaveofNoone, slave)
}

// selectSlave is sentinelSelectSlave, with compareSlavesForPromotion.
func (s *Sentinel) selectSlave() *instance {
	maxMasterDownTime, infoValidityTime := s.downAfter()*10, int64(InfoPeriod*3)
	if s.master.sDown {
		maxMasterDownTime += s.now - s.master.sDownSince
		infoValidityTime = pingPeriod * 5
	}
	var fit []*instance
	for _, slave := range s.slaves {
		if !slave.sDown && !slave.link.disconnected && s.now-slave.link.lastAvailTime <= pingPeriod*5 &&
			s.now-slave.infoRefresh <= infoValidityTime && slave.masterLinkDownTime <= maxMasterDownTime {
			fit = append(fit, slave)
		}
	}
	if len(fit) == 0 {
		return nil
	}
	return slices.MinFunc(fit, func(a, b *instance) int {
		return cmp.Or(cmp.Compare(b.slaveReplOffset, a.slaveReplOffset), cmp.Compare(a.runid, b.runid))
	})
}

// failoverSendSlaveOfNoOne is sentinelFailoverSendSlaveOfNoOne.
func (s *Sentinel) failoverSendSlaveOfNoOne() {
	slave := s.master.promotedSlave
	if slave.link.disconnected {
		if s.timedOut() {
			s.abort(AbortSlaveTimeout)
		}
		return
	}
	s.sendSlaveOf(slave, "")
	s.tell(StateWaitPromotion, slave)
	s.enter(stateWaitPromotion)
}

// failoverReconfNextSlave is sentinelFailoverReconfNextSlave. With parallel_syncs of 1 it never gets to its
// -slave-reconf-sent-timeout: the replica that is late counts as the one in progress.
func (s *Sentinel) failoverReconfNextSlave() {
	inProgress := 0
	for _, slave := range s.slaves {
		if slave.reconfSent || slave.reconfInprog {
			inProgress++
		}
	}
	for _, slave := range s.slaves {
		if inProgress >= parallelSyncs {
			break
		}
		if slave.promoted || slave.reconfDone || slave.reconfSent || slave.reconfInprog || slave.link.disconnected {
			continue
		}
		s.sendSlaveOf(slave, s.master.promotedSlave.name)
		slave.reconfSent = true
		s.tell(SlaveReconfSent, slave)
		inProgress++
	}
	s.failoverDetectEnd()
}

// failoverDetectEnd is sentinelFailoverDetectEnd.
func (s *Sentinel) failoverDetectEnd() {
	m := s.master
	if m.promotedSlave == nil || m.promotedSlave.sDown {
		return
	}
	timeout := s.timedOut()
	if timeout {
		s.tell(FailoverEndForTimeout, m)
	} else if slices.ContainsFunc(s.slaves, func(o *instance) bool { return !o.promoted && !o.reconfDone && !o.sDown }) {
		return
	}
	s.tell(FailoverEnd, m)
	s.enter(stateUpdateConfig)
	if !timeout {
		return
	}
	for _, slave := range s.slaves {
		if !slave.promoted && !slave.reconfDone && !slave.reconfSent && !slave.link.disconnected {
			s.sendSlaveOf(slave, m.promotedSlave.name)
			s.tell(SlaveReconfSentBE, slave)
			slave.reconfSent = true
		}
	}
}

// abort is sentinelAbortFailover.
func (s *Sentinel) abort(why Word) {
	m := s.master
	s.tell(why, m)
	m.failoverInProgress = false
	s.enter(stateNone)
	if m.promotedSlave != nil {
		m.promotedSlave.promoted = false
		m.promotedSlave = nil
	}
}

// switchToPromotedSlave is sentinelFailoverSwitchToPromotedSlave.
func (s *Sentinel) switchToPromotedSlave() {
	name := s.master.name
	if s.master.promotedSlave != nil {
		name = s.master.promotedSlave.name
	}
	s.config.Tell(Event{Word: SwitchMaster, Target: name})
	s.resetMasterAndChangeAddress(name)
}

// resetMasterAndChangeAddress is sentinelResetMasterAndChangeAddress, with sentinelResetMaster.
func (s *Sentinel) resetMasterAndChangeAddress(name string) {
	m := s.master
	var slaves []string
	for _, slave := range s.slaves {
		s.closeConnection(slave, &slave.link.cc)
		s.closeConnection(slave, &slave.link.pc)
		if slave.name != name {
			slaves = append(slaves, slave.name)
		}
	}
	if name != m.name {
		slaves = append(slaves, m.name)
	}
	s.closeConnection(m, &m.link.cc)
	s.closeConnection(m, &m.link.pc)
	*m = instance{name: name, role: Primary, link: m.link, roleReported: Primary, roleReportedTime: s.now,
		// What it does not reset:
		lastPubTime: m.lastPubTime, lastMasterDownReplyTime: m.lastMasterDownReplyTime, infoRefresh: m.infoRefresh,
		slaveConfChangeTime: m.slaveConfChangeTime, masterLinkDownTime: m.masterLinkDownTime,
		configEpoch: m.configEpoch, leaderEpoch: m.leaderEpoch, failoverEpoch: m.failoverEpoch}
	m.link.actPingTime, m.link.lastPingTime = s.now, 0
	m.link.lastAvailTime, m.link.lastPongTime = s.now, s.now
	s.slaves = nil
	for _, slave := range slaves {
		s.slaves = append(s.slaves, s.create(slave, Replica))
	}
	s.flushConfig()
}
