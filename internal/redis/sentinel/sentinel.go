package sentinel

import (
	"slices"
	"time"
)

// The constants of sentinel.c (lines 86 to 102), in milliseconds.
const (
	pingPeriod             = 1000  // sentinel_ping_period
	InfoPeriod             = 10000 // sentinel_info_period
	askPeriod              = 1000  // sentinel_ask_period
	PublishPeriod          = 2000  // sentinel_publish_period
	tiltTrigger            = 2000  // sentinel_tilt_trigger
	tiltPeriod             = 30 * pingPeriod
	minLinkReconnectPeriod = 15000 // sentinel_min_link_reconnect_period
	electionTimeout        = 10000 // sentinel_election_timeout
	maxDesync              = 1000  // SENTINEL_MAX_DESYNC
	maxPendingCommands     = 100   // SENTINEL_MAX_PENDING_COMMANDS
	parallelSyncs          = 1     // SENTINEL_DEFAULT_PARALLEL_SYNCS
	defaultHz              = 10    // CONFIG_DEFAULT_HZ of server.h
)

// Settings are those of the servers that are watched, the same at all sentinels.
type Settings struct {
	Quorum                     int
	DownAfter, FailoverTimeout time.Duration
}

// Kept is what a sentinel keeps in its file (rewriteConfigSentinelOption), beside the
// settings and the names of all sentinels.
type Kept struct {
	CurrentEpoch, ConfigEpoch, LeaderEpoch uint64
	Primary                                string
	Replicas                               []string
}

// Config is what a sentinel is made of.
type Config struct {
	Settings
	// Name is the sentinel's, and its run id. Others are those of all the others.
	Name   string
	Others []string
	// Kept is what its file says.
	Kept Kept
	// Rand draws a number below n.
	Rand func(n int) int
	// Do carries an action out. It does not call the sentinel before it returns.
	Do func(Action)
	// Tell is told of events.
	Tell func(Event)
}

// Sentinel is one life of a sentinel's process. All times that it is told are those of its wall clock.
type Sentinel struct {
	config Config
	// now is the time of the call.
	now int64
	// instances are those at the other ends of open connections; conn is the number of the last.
	instances map[int]*instance
	conn      int

	currentEpoch uint64
	tilt         bool
	// tiltStartTime is when TILT began, previousTime when the timer fired last.
	tiltStartTime, previousTime int64
	master                      *instance
	// others are the other sentinels.
	others []*instance
	slaves []*instance
}

type failoverState uint8

// States of a failover (SENTINEL_FAILOVER_STATE_*, line 113).
const (
	stateNone failoverState = iota
	stateWaitStart
	stateSelectSlave
	stateSendSlaveofNoone
	stateWaitPromotion
	stateReconfSlaves
	stateUpdateConfig
)

// instance is a server or another sentinel (sentinelRedisInstance).
type instance struct {
	name string
	role Role
	link instanceLink

	// The flags SRI_*.
	sDown, oDown, masterDown, failoverInProgress   bool
	promoted, reconfSent, reconfInprog, reconfDone bool

	runid                    string
	lastPubTime              int64
	lastMasterDownReplyTime  int64
	sDownSince, oDownSince   int64
	infoRefresh              int64
	roleReported             Role
	roleReportedTime         int64
	slaveConfChangeTime      int64
	masterLinkDownTime       int64
	slaveMasterHost          string
	slaveMasterLinkUp        bool
	slaveReplOffset          int64
	leader                   string
	leaderEpoch, configEpoch uint64

	// These are the primary's.
	failoverEpoch                              uint64
	failoverState                              failoverState
	failoverStateChangeTime, failoverStartTime int64
	promotedSlave                              *instance
}

// instanceLink are the connections to an instance; 0: there is none. A sentinel has no pc.
type instanceLink struct {
	disconnected                  bool
	pendingCommands               int
	cc, pc                        int
	ccConnTime, pcConnTime        int64
	pcLastActivity, lastAvailTime int64
	actPingTime, lastPingTime     int64
	lastPongTime, lastReconnTime  int64
}

// New starts a sentinel with what its file says.
func New(c Config, now time.Duration) *Sentinel {
	s := &Sentinel{config: c, instances: make(map[int]*instance), currentEpoch: c.Kept.CurrentEpoch}
	s.setTime(now)
	s.previousTime = s.now
	s.master = s.create(c.Kept.Primary, Primary)
	s.master.configEpoch, s.master.leaderEpoch = c.Kept.ConfigEpoch, c.Kept.LeaderEpoch
	for _, name := range c.Kept.Replicas {
		s.slaves = append(s.slaves, s.create(name, Replica))
	}
	for _, name := range c.Others {
		s.others = append(s.others, s.create(name, Peer))
	}
	s.tell(Monitor, s.master) // sentinelGenerateInitialMonitorEvents
	return s
}

// Settle makes a sentinel one that has watched for a while: its connections are open, and it has
// heard of everybody. about says what a server answers to INFO.
func (s *Sentinel) Settle(about func(server string) Info) {
	now := s.now
	for _, ri := range s.all() {
		opened := now - pingPeriod
		pinged := now - int64(s.config.Rand(int(s.pingPeriod()))) // and the answer came at once
		ri.link = instanceLink{cc: s.open(ri, false), ccConnTime: opened, pcConnTime: opened, pcLastActivity: now,
			lastReconnTime: opened, lastPingTime: pinged, lastPongTime: pinged, lastAvailTime: pinged}
		if ri.role != Peer {
			ri.link.pc = s.open(ri, true)
			s.now = now - int64(s.config.Rand(pingPeriod))
			s.refreshInfo(ri, about(ri.name))
		}
		ri.lastPubTime = now - int64(s.config.Rand(pingPeriod))
	}
	s.now = now
}

// setTime takes the time over, in milliseconds as mstime has it.
func (s *Sentinel) setTime(now time.Duration) { s.now = now.Milliseconds() }

// all are the instances, in the order in which sentinelHandleDictOfRedisInstances meets them.
func (s *Sentinel) all() []*instance {
	return slices.Concat([]*instance{s.master}, s.slaves, s.others)
}

// create is createSentinelRedisInstance, with createInstanceLink.
func (s *Sentinel) create(name string, role Role) *instance {
	ri := &instance{name: name, role: role, lastPubTime: s.now,
		lastMasterDownReplyTime: s.now, roleReportedTime: s.now, slaveConfChangeTime: s.now}
	if role != Peer {
		ri.roleReported = role
	}
	ri.link = instanceLink{disconnected: true, actPingTime: s.now, lastAvailTime: s.now, lastPongTime: s.now}
	return ri
}

func (s *Sentinel) downAfter() int64       { return s.config.DownAfter.Milliseconds() }
func (s *Sentinel) failoverTimeout() int64 { return s.config.FailoverTimeout.Milliseconds() }

// Kept is what its file says now.
func (s *Sentinel) Kept() Kept { return s.config.Kept }

// flushConfig is sentinelFlushConfig.
func (s *Sentinel) flushConfig() {
	k := Kept{CurrentEpoch: s.currentEpoch, ConfigEpoch: s.master.configEpoch, LeaderEpoch: s.master.leaderEpoch, Primary: s.Primary()}
	for _, slave := range s.slaves {
		if slave.name == k.Primary { // a failover has promoted it
			slave = s.master
		}
		k.Replicas = append(k.Replicas, slave.name)
	}
	s.config.Kept = k
}

// Primary is whom the sentinel names to clients as the primary (sentinelGetCurrentMasterAddress).
func (s *Sentinel) Primary() string {
	m := s.master
	if m.failoverInProgress && m.promotedSlave != nil && m.failoverState >= stateReconfSlaves {
		return m.promotedSlave.name
	}
	return m.name
}

// Timer is sentinelTimer. It returns when it is to be called next, by a clock that never jumps.
func (s *Sentinel) Timer(now time.Duration) (next time.Duration) {
	s.setTime(now)
	s.checkTiltCondition()
	for _, ri := range s.all() {
		s.handle(ri)
	}
	if s.master.failoverState == stateUpdateConfig {
		s.switchToPromotedSlave()
	}
	hz := defaultHz + s.config.Rand(defaultHz)
	return time.Duration(1000/hz) * time.Millisecond // as serverCron returns it
}

// checkTiltCondition is sentinelCheckTiltCondition.
func (s *Sentinel) checkTiltCondition() {
	if delta := s.now - s.previousTime; delta < 0 || delta > tiltTrigger {
		s.tilt, s.tiltStartTime = true, s.now
		s.tell(TiltOn, nil)
	}
	s.previousTime = s.now
}

// handle is sentinelHandleRedisInstance.
func (s *Sentinel) handle(ri *instance) {
	s.reconnect(ri)
	s.sendPeriodicCommands(ri)
	if s.tilt {
		if s.now-s.tiltStartTime < tiltPeriod {
			return
		}
		s.tilt = false
		s.tell(TiltOff, nil)
	}
	s.checkSubjectivelyDown(ri)
	if ri == s.master {
		s.checkObjectivelyDown()
		if s.startFailoverIfNeeded() {
			s.askOthers(true)
		}
		s.failoverStateMachine()
		s.askOthers(false)
	}
}
