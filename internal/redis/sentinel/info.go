package sentinel

import "slices"

// refreshInfo is sentinelRefreshInstanceInfo.
func (s *Sentinel) refreshInfo(ri *instance, info Info) {
	s.noteInfo(ri, info)
	if info.Role != ri.roleReported {
		ri.roleReportedTime, ri.roleReported = s.now, info.Role
		if info.Role == Replica {
			ri.slaveConfChangeTime = s.now
		}
		word := RoleChangeOff
		if ri.role == info.Role {
			word = RoleChange
		}
		s.tell(word, ri)
	}
	if s.tilt || ri.role != Replica {
		return
	}
	if info.Role == Primary {
		s.turnedMaster(ri)
		return
	}
	if ri.slaveMasterHost != s.master.name && s.masterLooksSane() && s.noDownFor(ri, s.failoverTimeout()) &&
		s.now-ri.slaveConfChangeTime > s.failoverTimeout() {
		s.sendSlaveOf(ri, s.master.name)
		s.tell(FixSlaveConfig, ri)
	}
	s.noteReconf(ri)
}

// noteInfo is its first half: it takes over what INFO tells.
func (s *Sentinel) noteInfo(ri *instance, info Info) {
	ri.masterLinkDownTime = 0
	if ri.runid != "" && ri.runid != info.RunID {
		s.tell(Reboot, ri)
	}
	ri.runid = info.RunID
	if ri == s.master {
		for _, name := range info.Replicas {
			if !slices.ContainsFunc(s.slaves, func(o *instance) bool { return o.name == name }) {
				s.slaves = append(s.slaves, s.create(name, Replica))
				s.flushConfig()
			}
		}
	}
	if info.Role == Replica {
		if !info.LinkUp {
			ri.masterLinkDownTime = info.LinkDownSince * 1000
		}
		if ri.slaveMasterHost != info.Primary {
			ri.slaveMasterHost, ri.slaveConfChangeTime = info.Primary, s.now
		}
		ri.slaveMasterLinkUp, ri.slaveReplOffset = info.LinkUp, info.Offset
	}
	ri.infoRefresh = s.now
}

// turnedMaster deals with a replica that says it is a primary.
func (s *Sentinel) turnedMaster(ri *instance) {
	m := s.master
	if ri.promoted && m.failoverInProgress && m.failoverState == stateWaitPromotion {
		m.configEpoch = m.failoverEpoch
		s.enter(stateReconfSlaves)
		s.flushConfig()
		s.tell(PromotedSlave, ri)
		s.tell(StateReconfSlaves, m)
		s.forceHelloUpdate()
		return
	}
	const waitTime = PublishPeriod * 4
	if !ri.promoted && s.masterLooksSane() && s.noDownFor(ri, waitTime) && s.now-ri.roleReportedTime > waitTime {
		s.sendSlaveOf(ri, m.name)
		s.tell(ConvertToSlave, ri)
	}
}

// noteReconf notes how far the reconfiguration of a replica is.
func (s *Sentinel) noteReconf(ri *instance) {
	if ri.reconfSent && s.master.promotedSlave != nil && ri.slaveMasterHost == s.master.promotedSlave.name {
		ri.reconfSent, ri.reconfInprog = false, true
		s.tell(SlaveReconfInprog, ri)
	}
	if ri.reconfInprog && ri.slaveMasterLinkUp {
		ri.reconfInprog, ri.reconfDone = false, true
		s.tell(SlaveReconfDone, ri)
	}
}

// masterLooksSane is sentinelMasterLooksSane.
func (s *Sentinel) masterLooksSane() bool {
	m := s.master
	return m.roleReported == Primary && !m.sDown && !m.oDown && s.now-m.infoRefresh < InfoPeriod*2
}

// noDownFor is sentinelRedisInstanceNoDownFor.
func (s *Sentinel) noDownFor(ri *instance, ms int64) bool {
	latest := max(ri.sDownSince, ri.oDownSince)
	return latest == 0 || s.now-latest > ms
}

// sendSlaveOf is sentinelSendSlaveOf. What it sends is one transaction.
func (s *Sentinel) sendSlaveOf(ri *instance, primary string) {
	s.send(ri, Action{Verb: ReplicaOf, Primary: primary})
}
