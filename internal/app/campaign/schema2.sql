-- Workers tell which of River's jobs they carry out. A sim that does not know of it works on, so the version stays.
alter table redlock_sim.worker add column if not exists jobs bigint[] not null default '{}';
