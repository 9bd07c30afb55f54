-- Version 2: workers tell which of River's jobs they carry out.
alter table redlock_sim.worker add column jobs bigint[] not null default '{}';
update redlock_sim.version set version = 2;
