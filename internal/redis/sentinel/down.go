package sentinel

import "time"

// checkSubjectivelyDown is sentinelCheckSubjectivelyDown.
func (s *Sentinel) checkSubjectivelyDown(ri *instance) {
	l := &ri.link
	elapsed := int64(0)
	if l.actPingTime != 0 {
		elapsed = s.now - l.actPingTime
	} else if l.disconnected {
		elapsed = s.now - l.lastAvailTime
	}
	if l.cc != 0 && s.now-l.ccConnTime > minLinkReconnectPeriod && l.actPingTime != 0 &&
		s.now-l.actPingTime > s.downAfter()/2 && s.now-l.lastPongTime > s.downAfter()/2 {
		s.closeConnection(ri, &l.cc)
	}
	if l.pc != 0 && s.now-l.pcConnTime > minLinkReconnectPeriod && s.now-l.pcLastActivity > PublishPeriod*3 {
		s.closeConnection(ri, &l.pc)
	}
	down := elapsed > s.downAfter() ||
		ri == s.master && ri.roleReported == Replica && s.now-ri.roleReportedTime > s.downAfter()+InfoPeriod*2
	if down && !ri.sDown {
		s.tell(SDown, ri)
		ri.sDown, ri.sDownSince = true, s.now
	} else if !down && ri.sDown {
		s.tell(SDownOff, ri)
		ri.sDown = false
	}
}

// checkObjectivelyDown is sentinelCheckObjectivelyDown.
func (s *Sentinel) checkObjectivelyDown() {
	m := s.master
	quorum := 0
	if m.sDown {
		quorum = 1
		for _, o := range s.others {
			if o.masterDown {
				quorum++
			}
		}
	}
	down := m.sDown && quorum >= s.config.Quorum
	if down && !m.oDown {
		s.tell(ODown, m)
		m.oDown, m.oDownSince = true, s.now
	} else if !down && m.oDown {
		s.tell(ODownOff, m)
		m.oDown = false
	}
}

// askOthers is sentinelAskMasterStateToOtherSentinels.
func (s *Sentinel) askOthers(forced bool) {
	m := s.master
	ask := Ask{Primary: m.name, Epoch: s.currentEpoch}
	if m.failoverState > stateNone {
		ask.Candidate = s.config.Name
	}
	for _, o := range s.others {
		elapsed := s.now - o.lastMasterDownReplyTime
		if elapsed > askPeriod*5 {
			o.masterDown, o.leader = false, ""
		}
		if m.sDown && !o.link.disconnected && (forced || elapsed >= askPeriod) {
			s.send(o, Action{Verb: AskDown, Ask: ask})
		}
	}
}

// Asked answers another sentinel (is-master-down-by-addr of sentinelCommand).
func (s *Sentinel) Asked(now time.Duration, q Ask) (a Down) {
	s.setTime(now)
	if q.Primary != s.master.name {
		return a
	}
	a.Down = !s.tilt && s.master.sDown
	if q.Candidate != "" {
		a.Leader, a.Epoch = s.voteLeader(q.Epoch, q.Candidate)
	}
	return a
}
