// What the other programs do, and with one argument a single case that no other language reaches: see cases.c.
#define _GNU_SOURCE
#include "cases.h"

static int worker_may_go;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;

static void *work(void *arg) {
	(void)arg;
	sleep(10);
	pthread_mutex_lock(&lock);
	worker_may_go = 1;
	pthread_cond_signal(&condition);
	pthread_mutex_unlock(&lock);
	usleep(7500000);
	return NULL;
}

static void day(void) {
	sleep(3600);
	say("slept");
	pthread_t worker;
	pthread_create(&worker, NULL, work, NULL);
	struct timespec until;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 4;
	pthread_mutex_lock(&lock);
	while (!worker_may_go && pthread_cond_timedwait(&condition, &lock, &until) == 0)
		;
	say("early %d", worker_may_go);
	while (!worker_may_go)
		pthread_cond_wait(&condition, &lock);
	pthread_mutex_unlock(&lock);
	say("condition");
	pthread_join(worker, NULL);
	say("joined");
	pid_t child = fork();
	if (child == 0) {
		sleep(4);
		_exit(5);
	}
	int status;
	waitpid(child, &status, 0);
	say("child %d", WEXITSTATUS(status));
	unsigned char b[4];
	if (getrandom(b, sizeof b, 0) != sizeof b)
		abort();
	printf("random %02x%02x%02x%02x\n", b[0], b[1], b[2], b[3]);
}

static void serve(int port) {
	int listener = listen_at(port), conn;
	struct sockaddr_in peer;
	socklen_t size = sizeof peer;
	if ((conn = accept(listener, (struct sockaddr *)&peer, &size)) < 0)
		abort();
	say("accepted %s", inet_ntoa(peer.sin_addr));
	char line[1000];
	FILE *in = fdopen(dup(conn), "r");
	while (fgets(line, sizeof line, in)) {
		sleep(1);
		line[strcspn(line, "\n")] = 0;
		say("heard %s", line);
		dprintf(conn, "you said %s\n", line);
	}
	say("over");
}

static void ask(const char *host, int port) {
	int conn = connect_to(host, port);
	say("connected");
	FILE *in = fdopen(dup(conn), "r");
	char line[1000];
	const char *words[] = {"one", "two"};
	for (int i = 0; i < 2; i++) {
		dprintf(conn, "%s\n", words[i]);
		if (!fgets(line, sizeof line, in))
			abort();
		line[strcspn(line, "\n")] = 0;
		say("%s", line);
	}
}

int main(int argc, char **argv) {
	setlinebuf(stdout);
	begin_clock();
	if (argc < 2)
		return 2;
	if (!strcmp(argv[1], "day"))
		day();
	else if (!strcmp(argv[1], "serve"))
		serve(atoi(argv[2]));
	else if (!strcmp(argv[1], "ask"))
		ask(argv[2], atoi(argv[3]));
	else if (!strcmp(argv[1], "crash")) {
		sleep(2);
		*(volatile int *)0 = 1;
	} else
		return one_case(argv[1], argc - 2, argv + 2);
	return 0;
}
