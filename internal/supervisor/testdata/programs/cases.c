#define _GNU_SOURCE
#include "cases.h"

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

static struct timespec begin_monotonic, begin_wall;

void begin_clock(void) {
	clock_gettime(CLOCK_MONOTONIC, &begin_monotonic);
	clock_gettime(CLOCK_REALTIME, &begin_wall);
}

static long since(clockid_t clock, struct timespec begin) {
	struct timespec now;
	clock_gettime(clock, &now);
	long ns = (now.tv_sec - begin.tv_sec) * 1000000000L + now.tv_nsec - begin.tv_nsec;
	return (ns + 500000) / 1000000;
}

void say(const char *format, ...) {
	char text[2000];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	char line[2100];
	int n = snprintf(line, sizeof line, "%ld %ld %s\n", since(CLOCK_MONOTONIC, begin_monotonic), since(CLOCK_REALTIME, begin_wall), text);
	if (write(1, line, n) != n)
		abort();
}

static void check(int ok, const char *what) {
	if (!ok) {
		say("%s: %s", what, strerror(errno));
		_exit(1);
	}
}

int listen_at(int port) {
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(port)};
	check(bind(fd, (struct sockaddr *)&at, sizeof at) == 0 && listen(fd, 10) == 0, "listen");
	return fd;
}

static struct sockaddr_in address(const char *host, int port) {
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(port)};
	inet_pton(AF_INET, host, &at.sin_addr);
	return at;
}

int connect_to(const char *host, int port) {
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	struct sockaddr_in at = address(host, port);
	check(connect(fd, (struct sockaddr *)&at, sizeof at) == 0, "connect");
	return fd;
}

static sigset_t blocked(int a, int b) {
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, a);
	sigaddset(&set, b);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return set;
}

// kill_later begins a child that sends a signal to its parent after 1 s and ends after 2 s.
static void kill_later(int signal) {
	if (fork() == 0) {
		sleep(1);
		kill(getppid(), signal);
		sleep(1);
		_exit(0);
	}
}

static void case_signalfd(void) {
	sigset_t set = blocked(SIGUSR1, SIGCHLD);
	int fd = signalfd(-1, &set, SFD_NONBLOCK), epoll = epoll_create1(0);
	struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
	epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
	kill_later(SIGUSR1);
	for (int i = 0; i < 3; i++) {
		int n = i == 1 ? poll(&(struct pollfd){fd, POLLIN, 0}, 1, 5000) : epoll_wait(epoll, &event, 1, 5000);
		struct signalfd_siginfo info = {0};
		ssize_t got = read(fd, &info, sizeof info);
		say("%d %d %d", n, got > 0, got > 0 ? (int)info.ssi_signo : 0);
	}
	fcntl(fd, F_SETFL, 0);
	kill_later(SIGUSR1);
	struct signalfd_siginfo info = {0};
	check(read(fd, &info, sizeof info) == sizeof info, "read");
	say("read %d", info.ssi_signo);
}

static void case_sigwait(void) {
	sigset_t set = blocked(SIGUSR1, SIGALRM);
	siginfo_t info;
	struct timespec two = {2, 0};
	int n = sigtimedwait(&set, &info, &two);
	say("%d %d", n, errno == EAGAIN);
	alarm(3);
	n = sigwaitinfo(&set, &info);
	say("%d", n);
	kill_later(SIGUSR1);
	n = sigtimedwait(&set, &info, &two);
	say("%d", n);
}

static volatile int caught;
static void catch(int signal) { caught = signal; }

static void case_sigsuspend(void) {
	sigset_t set = blocked(SIGUSR1, SIGALRM), none;
	sigemptyset(&none);
	signal(SIGUSR1, catch);
	signal(SIGALRM, catch);
	alarm(3);
	sleep(1);
	say("blocked %d", caught);
	int n = sigsuspend(&none);
	say("%d %d", n, caught);
	kill_later(SIGUSR1);
	struct timespec ten = {10, 0};
	n = ppoll(NULL, 0, &ten, &none);
	say("%d %d %d", n, errno == EINTR, caught);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	alarm(1);
	n = pause();
	say("%d %d", n, caught);
}

static void told(union sigval v) { say("thread %d", v.sival_int); }

static void case_timers(void) {
	struct sigevent event = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = told, .sigev_value.sival_int = 7};
	timer_t thread, mine;
	check(timer_create(CLOCK_MONOTONIC, &event, &thread) == 0, "timer_create");
	struct itimerspec two = {.it_value = {2, 0}}, five = {.it_value = {5, 0}};
	check(timer_settime(thread, 0, &two, NULL) == 0, "timer_settime");
	sigset_t set = blocked(SIGUSR1, SIGUSR2);
	struct sigevent own = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR1, .sigev_value.sival_int = 8};
	own.sigev_notify_thread_id = gettid();
	check(timer_create(CLOCK_REALTIME, &own, &mine) == 0, "timer_create");
	check(timer_settime(mine, 0, &five, NULL) == 0, "timer_settime");
	siginfo_t info;
	int n = sigwaitinfo(&set, &info);
	say("%d %d %d", n, info.si_code == SI_TIMER, info.si_value.sival_int);
}

struct shared {
	pthread_mutex_t lock;
	pthread_cond_t condition;
	int ready;
};

static struct shared *new_shared(int robust) {
	struct shared *s = mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pthread_mutexattr_t lock;
	pthread_mutexattr_init(&lock);
	pthread_mutexattr_setpshared(&lock, PTHREAD_PROCESS_SHARED);
	if (robust)
		pthread_mutexattr_setrobust(&lock, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&s->lock, &lock);
	pthread_condattr_t condition;
	pthread_condattr_init(&condition);
	pthread_condattr_setpshared(&condition, PTHREAD_PROCESS_SHARED);
	pthread_cond_init(&s->condition, &condition);
	return s;
}

static void case_shared(void) {
	struct shared *s = new_shared(0);
	if (fork() == 0) {
		// Somewhere else in its memory.
		struct shared *there = mremap(s, 4096, 4096, MREMAP_MAYMOVE | MREMAP_FIXED, (char *)s + (64 << 20));
		sleep(3);
		pthread_mutex_lock(&there->lock);
		there->ready = 1;
		pthread_cond_signal(&there->condition);
		pthread_mutex_unlock(&there->lock);
		_exit(0);
	}
	pthread_mutex_lock(&s->lock);
	while (!s->ready)
		pthread_cond_wait(&s->condition, &s->lock);
	say("ready");
}

static void case_robust(void) {
	struct shared *s = new_shared(1);
	if (fork() == 0) {
		pthread_mutex_lock(&s->lock);
		sleep(2);
		raise(SIGKILL);
	}
	sleep(1);
	int e = pthread_mutex_lock(&s->lock);
	say("%d", e == EOWNERDEAD);
}

static void case_timerfd(void) {
	int fd = timerfd_create(CLOCK_MONOTONIC, 0), copied = dup(fd);
	struct itimerspec spec = {.it_value = {2, 0}, .it_interval = {3, 0}}, left;
	close(fd);
	check(timerfd_settime(copied, 0, &spec, NULL) == 0, "timerfd_settime");
	timerfd_gettime(copied, &left);
	say("left %ld", left.it_value.tv_sec * 1000 + left.it_value.tv_nsec / 1000000);
	unsigned long times;
	if (fork() == 0) {
		check(read(copied, &times, sizeof times) == sizeof times, "read");
		say("child %lu", times);
		sleep(7);
		check(read(copied, &times, sizeof times) == sizeof times, "read");
		say("child %lu", times);
		_exit(0);
	}
	wait(NULL);
	struct itimerspec none = {0};
	check(timerfd_settime(copied, 0, &none, NULL) == 0, "timerfd_settime");
	int n = poll(&(struct pollfd){copied, POLLIN, 0}, 1, 5000);
	say("stopped %d", n);
}

static void *unlock_later(void *fd) {
	sleep(5);
	close(*(int *)fd); // a close ends the lock, too
	return NULL;
}

static void case_flock(void) {
	int a = open("lock", O_CREAT | O_RDWR, 0600), b = open("lock", O_RDWR);
	check(flock(a, LOCK_EX) == 0, "flock");
	say("nonblocking %d", flock(b, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK);
	pthread_t thread;
	pthread_create(&thread, NULL, unlock_later, &a);
	check(flock(b, LOCK_EX) == 0, "flock");
	say("locked");
	if (fork() == 0) {
		struct flock whole = {.l_type = F_WRLCK};
		check(fcntl(b, F_SETLK, &whole) == 0, "fcntl");
		sleep(4);
		_exit(0);
	}
	sleep(1);
	struct flock whole = {.l_type = F_WRLCK};
	check(fcntl(b, F_SETLKW, &whole) == 0, "fcntl");
	say("of a process");
}

enum { BIG = 5 << 20 };

static unsigned sum(int fd) {
	static unsigned char b[60000];
	unsigned s = 0;
	long all = 0;
	for (ssize_t n; (n = read(fd, b, sizeof b)) > 0; all += n)
		for (ssize_t i = 0; i < n; i++)
			s = s * 31 + b[i];
	say("read %ld", all);
	return s;
}

static void write_big(int fd) {
	unsigned char *b = malloc(BIG);
	unsigned s = 0;
	for (int i = 0; i < BIG; i++)
		s = s * 31 + (b[i] = i * 7 + i / 1000);
	for (long at = 0; at < BIG;) {
		ssize_t n = write(fd, b + at, BIG - at);
		check(n > 0, "write");
		at += n;
	}
	say("wrote %u", s);
	close(fd);
}

static void case_pipe(void) {
	int fds[2];
	check(pipe(fds) == 0, "pipe");
	if (fork() == 0) {
		close(fds[0]);
		write_big(fds[1]);
		_exit(0);
	}
	close(fds[1]);
	sleep(1);
	int n = poll(&(struct pollfd){fds[0], POLLIN, 0}, 1, 0);
	say("poll %d", n);
	unsigned s = sum(fds[0]);
	say("sum %u", s);
}

static void case_take(int port) {
	int listener = listen_at(port), conn = accept(listener, NULL, NULL);
	unsigned s = sum(conn);
	say("sum %u", s);
}

static void case_waitall(int port) {
	int listener = listen_at(port), conn = accept(listener, NULL, NULL);
	char b[100] = {0};
	ssize_t n = recv(conn, b, 10, MSG_WAITALL);
	say("%zd %.10s", n, b);
	n = recv(conn, b, 10, MSG_WAITALL);
	say("%zd", n);
}

static void case_drip(const char *host, int port) {
	int conn = connect_to(host, port);
	for (int i = 0; i < 12; i++) {
		sleep(1);
		check(write(conn, &"abcdefghijkl"[i], 1) == 1, "write");
	}
}

static volatile int flag;
static void *raise_flag(void *arg) {
	(void)arg;
	sleep(1);
	flag = 1;
	return NULL;
}

static void case_yield(void) {
	pthread_t thread;
	pthread_create(&thread, NULL, raise_flag, NULL);
	while (!flag)
		sched_yield();
	puts("yielded");
}

static void case_spin(void) {
	struct timespec now, begin;
	clock_gettime(CLOCK_MONOTONIC, &begin);
	do
		clock_gettime(CLOCK_MONOTONIC, &now);
	while (now.tv_sec < begin.tv_sec + 3);
	puts("spun");
}

static void *sleep_shortly(void *arg) {
	while (!flag)
		usleep(20);
	return arg;
}

// It reads a clock by a call, again and again, while another thread wakes up and sleeps, as one of Go's does.
static void case_beside(void) {
	struct timespec now, begin;
	pthread_t thread;
	pthread_create(&thread, NULL, sleep_shortly, NULL);
	clock_gettime(CLOCK_MONOTONIC, &begin);
	do
		syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
	while (now.tv_sec < begin.tv_sec + 3);
	flag = 1;
	pthread_join(thread, NULL);
	puts("spun");
}

static void case_compute(void) {
	puts("begins");
	sleep(1);
	for (volatile unsigned long i = 0;; i++)
		;
}

static void case_unmodelled(void) {
	sleep(1);
	long r = syscall(SYS_keyctl, 0, -3, 0);
	say("%ld", r);
}

static void case_kinds(void) {
	int kinds[][2] = {{AF_INET, SOCK_DGRAM}, {AF_INET, SOCK_RAW}, {AF_INET6, SOCK_STREAM}, {AF_INET6, SOCK_DGRAM},
		{AF_NETLINK, SOCK_RAW}, {AF_PACKET, SOCK_RAW}, {AF_UNIX, SOCK_DGRAM}};
	for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		int fd = socket(kinds[i][0], kinds[i][1], 0);
		say("%d %d", fd, errno == EAFNOSUPPORT);
	}
	connect_to("127.0.1.2", 7000);
	say("connected");
	sleep(10);
}

static void case_urandom(void) {
	int fd = open("/dev/urandom", O_RDONLY);
	unsigned last = 0;
	for (int part = 0; part < 3; part++) {
		unsigned char b[100000];
		unsigned s = 0;
		ssize_t n = read(fd, b, sizeof b);
		check(n == sizeof b, "read");
		for (ssize_t i = 0; i < n; i++)
			s = s * 31 + b[i];
		check(s != last, "the same again");
		last = s;
		printf("%u\n", s);
	}
	FILE *f = fopen("/dev/random", "r");
	printf("%d\n", poll(&(struct pollfd){fileno(f), POLLIN, 0}, 1, 1000));
	printf("%d\n", fgetc(f));
}

static void case_refused(const char *host, int port) {
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	struct sockaddr_in at = address(host, port);
	int n = connect(fd, (struct sockaddr *)&at, sizeof at);
	say("%d %d", n, errno == ECONNREFUSED);
}

static void case_connecting(const char *host, int port) {
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), e = 0;
	socklen_t size = sizeof e;
	struct sockaddr_in at = address(host, port);
	int n = connect(fd, (struct sockaddr *)&at, sizeof at);
	say("%d %d", n, errno == EINPROGRESS);
	n = poll(&(struct pollfd){fd, POLLOUT, 0}, 1, 5);
	say("%d", n);
	n = poll(&(struct pollfd){fd, POLLOUT, 0}, 1, 5000);
	getsockopt(fd, SOL_SOCKET, SO_ERROR, &e, &size);
	say("%d %s", n, strerror(e));
}

static void case_timeouts(const char *host, int port) {
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	struct timeval soon = {.tv_usec = 5000}, later = {.tv_sec = 2};
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &soon, sizeof soon);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &later, sizeof later);
	struct sockaddr_in at = address(host, port);
	int n = connect(fd, (struct sockaddr *)&at, sizeof at);
	say("%d %d", n, errno == EINPROGRESS);
	sleep(1);
	char b[10];
	n = recv(fd, b, sizeof b, MSG_DONTWAIT);
	say("%d %d", n, errno == EAGAIN);
	n = recv(fd, b, sizeof b, 0);
	say("%d %d", n, errno == EAGAIN);
}

static void case_halfclose(const char *host, int port) {
	int fd = connect_to(host, port);
	dprintf(fd, "all\n");
	shutdown(fd, SHUT_WR);
	char b[100];
	ssize_t n = recv(fd, b, sizeof b, 0);
	say("%zd", n);
	n = recv(fd, b, sizeof b, 0);
	say("%zd", n);
}

static void case_listen(int port) {
	int fd = listen_at(port);
	say("listens");
	sleep(5);
	int conn = accept(fd, NULL, NULL);
	say("accepted %d", conn >= 0);
	char b[10];
	ssize_t n = recv(conn, b, sizeof b, 0);
	say("%zd %d", n, n < 0 ? errno == ECONNRESET : 0);
}

static void case_unix(void) {
	struct sockaddr_un at = {.sun_family = AF_UNIX, .sun_path = "own"};
	int listener = socket(AF_UNIX, SOCK_STREAM, 0), fd = socket(AF_UNIX, SOCK_STREAM, 0);
	check(bind(listener, (struct sockaddr *)&at, sizeof at) == 0 && listen(listener, 10) == 0, "listen");
	int n = connect(fd, (struct sockaddr *)&at, sizeof at);
	say("own %d", n);
	memset(at.sun_path + sizeof "own", 'x', sizeof at.sun_path - sizeof "own"); // nothing there counts
	fd = socket(AF_UNIX, SOCK_STREAM, 0);
	n = connect(fd, (struct sockaddr *)&at, sizeof at);
	say("own, long %d", n);
	strcpy(at.sun_path, getenv("FOREIGN"));
	fd = socket(AF_UNIX, SOCK_STREAM, 0);
	n = connect(fd, (struct sockaddr *)&at, sizeof at);
	say("foreign %d", n);
}

static void *append(void *number) {
	char c = 'a' + (int)(long)number;
	check(write(3, &c, 1) == 1, "write");
	usleep(1000);
	check(write(3, &c, 1) == 1, "write");
	return NULL;
}

static void case_threads(void) {
	pthread_t threads[8];
	check(memfd_create("log", 0) == 3, "memfd_create");
	for (long i = 0; i < 8; i++)
		pthread_create(&threads[i], NULL, append, (void *)i);
	for (int i = 0; i < 8; i++)
		pthread_join(threads[i], NULL);
	char b[100] = {0};
	check(pread(3, b, sizeof b, 0) == 16, "pread");
	puts(b);
}

static int herd_pipe[2];

static void *take_one(void *how) {
	char c;
	if (how)
		poll(&(struct pollfd){herd_pipe[0], POLLIN, 0}, 1, 10000);
	check(read(herd_pipe[0], &c, 1) == 1, "read");
	say("took %c", c);
	return NULL;
}

// Who waits for the same thing as others goes on in turn.
static void case_herd(void) {
	pthread_t threads[6];
	check(pipe(herd_pipe) == 0, "pipe");
	for (long i = 0; i < 6; i++)
		pthread_create(&threads[i], NULL, take_one, (void *)(i % 2));
	for (int i = 0; i < 6; i++) {
		sleep(1);
		check(write(herd_pipe[1], &"abcdef"[i], 1) == 1, "write");
	}
	for (int i = 0; i < 6; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < 3; i++)
		if (fork() == 0) {
			int fd = open("lock", O_CREAT | O_RDWR, 0600);
			struct flock whole = {.l_type = F_WRLCK};
			check(fcntl(fd, F_SETLKW, &whole) == 0, "fcntl");
			sleep(1);
			say("locked");
			_exit(0);
		}
	while (wait(NULL) > 0)
		;
}

static pid_t child_for(int seconds) {
	pid_t child = fork();
	if (child == 0) {
		sleep(seconds);
		_exit(seconds);
	}
	return child;
}

static void case_children(void) {
	child_for(1);
	pid_t second = child_for(3), third = child_for(5);
	sleep(2);
	int status;
	waitpid(second, &status, 0);
	say("second %d", WEXITSTATUS(status));
	siginfo_t info;
	int fd = syscall(SYS_pidfd_open, third, 0);
	check(waitid(3, fd, &info, WEXITED) == 0, "waitid"); // P_PIDFD
	say("third %d", info.si_status);
	wait(&status);
	say("first %d", WEXITSTATUS(status));
	fd = syscall(SYS_pidfd_open, child_for(1), 0);
	int n = poll(&(struct pollfd){fd, POLLIN, 0}, 1, 5000);
	say("poll %d", n);
	wait(NULL);
	signal(SIGCHLD, SIG_IGN);
	child_for(1);
	n = wait(NULL);
	say("ignored %d %d", n, errno == ECHILD);
}

static void case_inherit(void) {
	unsigned word = 1; // another thread's
	sleep(1);
	syscall(SYS_futex, &word, 6, 0, NULL); // FUTEX_LOCK_PI
}

static void case_stop(void) {
	sleep(1);
	raise(SIGSTOP);
}

static void case_echo(int rounds) {
	char line[100];
	for (int i = 0; i < rounds && fgets(line, sizeof line, stdin); i++)
		fputs(line, stdout);
	say(feof(stdin) ? "over" : "enough");
}

static void case_polls(int milliseconds) {
	int n = poll(&(struct pollfd){0, POLLIN, 0}, 1, milliseconds);
	say("%d", n);
}

static void case_ticks(int times) {
	for (int i = 0; i < times; i++) {
		usleep(100000);
		say("tick");
	}
}

static void case_until(int seconds) {
	struct timespec until;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += seconds;
	clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &until, NULL);
	say("day");
}

static void case_append(void) {
	int fd = open("journal", O_CREAT | O_WRONLY | O_APPEND, 0600);
	check(write(fd, "synced ", 7) == 7 && fsync(fd) == 0, "fsync");
	check(write(fd, "lost", 4) == 4, "write");
	int never = open("never", O_CREAT | O_WRONLY, 0600);
	check(write(never, "lost", 4) == 4, "write");
	sleep(100);
}

static void case_sleeps(int times) {
	for (int i = 0; i < times; i++)
		usleep(1);
	say("slept");
}

static void case_pingpong(const char *host, int port, int times) {
	int fd = connect_to(host, port);
	char b[100];
	for (int i = 0; i < times; i++)
		check(write(fd, "ping", 4) == 4 && read(fd, b, sizeof b) == 4, "ping");
	say("done");
}

static void case_pong(int port) {
	int listener = listen_at(port), fd = accept(listener, NULL, NULL);
	char b[100];
	for (ssize_t n; (n = read(fd, b, sizeof b)) > 0;)
		check(write(fd, b, n) == n, "pong");
}

int one_case(const char *name, int argc, char **argv) {
	const char *host = argc > 0 ? argv[0] : "";
	int first = argc > 0 ? atoi(argv[0]) : 0, second = argc > 1 ? atoi(argv[1]) : 0;
#define CASE(NAME, ...)                     \
	if (!strcmp(name, #NAME)) {             \
		case_##NAME(__VA_ARGS__);           \
		return 0;                           \
	}
	CASE(signalfd)
	CASE(sigwait)
	CASE(sigsuspend)
	CASE(timers)
	CASE(shared)
	CASE(robust)
	CASE(timerfd)
	CASE(flock)
	CASE(pipe)
	CASE(take, first)
	CASE(waitall, first)
	CASE(drip, host, second)
	CASE(yield)
	CASE(spin)
	CASE(beside)
	CASE(compute)
	CASE(unmodelled)
	CASE(kinds)
	CASE(urandom)
	CASE(refused, host, second)
	CASE(connecting, host, second)
	CASE(timeouts, host, second)
	CASE(halfclose, host, second)
	CASE(listen, first)
	CASE(unix)
	CASE(threads)
	CASE(echo, first)
	CASE(herd)
	CASE(children)
	CASE(inherit)
	CASE(stop)
	CASE(polls, first)
	CASE(ticks, first)
	CASE(until, first)
	CASE(append)
	CASE(sleeps, first)
	CASE(pong, first)
	if (!strcmp(name, "give")) {
		write_big(connect_to(host, second));
		return 0;
	}
	if (!strcmp(name, "pingpong")) {
		case_pingpong(host, second, atoi(argv[2]));
		return 0;
	}
	fprintf(stderr, "no case %s\n", name);
	return 2;
}
