package launch

import (
	"fmt"
	"slices"
	"strings"
	"sync"
)

// The names of the system calls of amd64: those from number 0 on, and those from laterFrom on. Between them there are none.
const (
	earlier = `
read write open close stat fstat lstat poll lseek mmap mprotect munmap brk rt_sigaction rt_sigprocmask rt_sigreturn ioctl pread64
pwrite64 readv writev access pipe select sched_yield mremap msync mincore madvise shmget shmat shmctl dup dup2 pause nanosleep getitimer
alarm setitimer getpid sendfile socket connect accept sendto recvfrom sendmsg recvmsg shutdown bind listen getsockname getpeername
socketpair setsockopt getsockopt clone fork vfork execve exit wait4 kill uname semget semop semctl shmdt msgget msgsnd msgrcv msgctl
fcntl flock fsync fdatasync truncate ftruncate getdents getcwd chdir fchdir rename mkdir rmdir creat link unlink symlink readlink chmod
fchmod chown fchown lchown umask gettimeofday getrlimit getrusage sysinfo times ptrace getuid syslog getgid setuid setgid geteuid
getegid setpgid getppid getpgrp setsid setreuid setregid getgroups setgroups setresuid getresuid setresgid getresgid getpgid setfsuid
setfsgid getsid capget capset rt_sigpending rt_sigtimedwait rt_sigqueueinfo rt_sigsuspend sigaltstack utime mknod uselib personality
ustat statfs fstatfs sysfs getpriority setpriority sched_setparam sched_getparam sched_setscheduler sched_getscheduler
sched_get_priority_max sched_get_priority_min sched_rr_get_interval mlock munlock mlockall munlockall vhangup modify_ldt pivot_root
_sysctl prctl arch_prctl adjtimex setrlimit chroot sync acct settimeofday mount umount2 swapon swapoff reboot sethostname setdomainname
iopl ioperm create_module init_module delete_module get_kernel_syms query_module quotactl nfsservctl getpmsg putpmsg afs_syscall tuxcall
security gettid readahead setxattr lsetxattr fsetxattr getxattr lgetxattr fgetxattr listxattr llistxattr flistxattr removexattr
lremovexattr fremovexattr tkill time futex sched_setaffinity sched_getaffinity set_thread_area io_setup io_destroy io_getevents
io_submit io_cancel get_thread_area lookup_dcookie epoll_create epoll_ctl_old epoll_wait_old remap_file_pages getdents64 set_tid_address
restart_syscall semtimedop fadvise64 timer_create timer_settime timer_gettime timer_getoverrun timer_delete clock_settime clock_gettime
clock_getres clock_nanosleep exit_group epoll_wait epoll_ctl tgkill utimes vserver mbind set_mempolicy get_mempolicy mq_open mq_unlink
mq_timedsend mq_timedreceive mq_notify mq_getsetattr kexec_load waitid add_key request_key keyctl ioprio_set ioprio_get inotify_init
inotify_add_watch inotify_rm_watch migrate_pages openat mkdirat mknodat fchownat futimesat newfstatat unlinkat renameat linkat symlinkat
readlinkat fchmodat faccessat pselect6 ppoll unshare set_robust_list get_robust_list splice tee sync_file_range vmsplice move_pages
utimensat epoll_pwait signalfd timerfd_create eventfd fallocate timerfd_settime timerfd_gettime accept4 signalfd4 eventfd2 epoll_create1
dup3 pipe2 inotify_init1 preadv pwritev rt_tgsigqueueinfo perf_event_open recvmmsg fanotify_init fanotify_mark prlimit64
name_to_handle_at open_by_handle_at clock_adjtime syncfs sendmmsg setns getcpu process_vm_readv process_vm_writev kcmp finit_module
sched_setattr sched_getattr renameat2 seccomp getrandom memfd_create kexec_file_load bpf execveat userfaultfd membarrier mlock2
copy_file_range preadv2 pwritev2 pkey_mprotect pkey_alloc pkey_free statx io_pgetevents rseq uretprobe uprobe
`
	later = `
pidfd_send_signal io_uring_setup io_uring_enter io_uring_register open_tree move_mount fsopen fsconfig fsmount fspick pidfd_open clone3
close_range openat2 pidfd_getfd faccessat2 process_madvise epoll_pwait2 mount_setattr quotactl_fd landlock_create_ruleset
landlock_add_rule landlock_restrict_self memfd_secret process_mrelease futex_waitv set_mempolicy_home_node cachestat fchmodat2
map_shadow_stack futex_wake futex_wait futex_requeue statmount listmount lsm_get_self_attr lsm_set_self_attr lsm_list_modules mseal
setxattrat getxattrat listxattrat removexattrat open_tree_attr file_getattr file_setattr listns rseq_slice_yield
`
	laterFrom = 424
	lastCall  = 471
	// x32 marks the calls of programs with 32-bit addresses.
	x32 = 0x40000000
)

// harmless are the calls that a program makes natively, unseen. What they do and answer depends on nothing but what the program has
// done: they do not wait for anybody else, tell no time, draw no random numbers, and change nothing of the machine but the program
// itself and its files. Those that write may wait until there is room.
const harmless = `
write pwrite64 writev pwritev pwritev2 sendto sendmsg sendmmsg sendfile shutdown
pread64 preadv preadv2 lseek close close_range dup dup2 dup3 fcntl ioctl epoll_ctl inotify_add_watch inotify_rm_watch memfd_create
stat lstat fstat newfstatat statx access faccessat faccessat2 readlink readlinkat getdents getdents64 statfs fstatfs getcwd
getxattr lgetxattr fgetxattr getxattrat listxattr llistxattr flistxattr listxattrat file_getattr
chdir fchdir umask rename renameat renameat2 mkdir mkdirat rmdir link linkat unlink unlinkat symlink symlinkat mknod mknodat
chmod fchmod fchmodat fchmodat2 chown fchown lchown fchownat utime utimes futimesat utimensat
setxattr lsetxattr fsetxattr setxattrat removexattr lremovexattr fremovexattr removexattrat file_setattr
truncate ftruncate fallocate fadvise64 readahead copy_file_range
mmap munmap mremap mprotect pkey_mprotect pkey_alloc pkey_free brk madvise mincore msync mlock mlock2 munlock mlockall munlockall
remap_file_pages membarrier mbind get_mempolicy set_mempolicy set_mempolicy_home_node mseal map_shadow_stack
rt_sigaction rt_sigprocmask rt_sigreturn rt_sigpending sigaltstack
getpid getppid gettid getpgrp getpgid getsid setpgid setsid
getuid geteuid getgid getegid getresuid getresgid getgroups setuid setgid setreuid setregid setresuid setresgid setfsuid setfsgid
setgroups capget capset prctl arch_prctl get_robust_list getrlimit setrlimit prlimit64
getpriority setpriority ioprio_get ioprio_set sched_getparam sched_setparam sched_getscheduler sched_setscheduler sched_getattr
sched_setattr sched_get_priority_max sched_get_priority_min clock_getres timer_getoverrun
`

// table has the calls by number.
var table = sync.OnceValue(func() (t struct {
	names    map[int]string
	harmless map[int]bool
}) {
	t.names, t.harmless = map[int]string{}, map[int]bool{}
	native := strings.Fields(harmless)
	add := func(from int, names string) {
		for i, name := range strings.Fields(names) {
			t.names[from+i], t.harmless[from+i] = name, slices.Contains(native, name)
		}
	}
	add(0, earlier)
	add(laterFrom, later)
	return t
})

// CallName is the name of a system call of amd64, for people.
func CallName(nr int) string {
	name, of := table().names[nr&^x32], ""
	if nr&x32 != 0 {
		of = " of x32"
	}
	if name == "" {
		name = fmt.Sprintf("number %d", nr&^x32)
	}
	return name + of
}

// Harmless reports whether a call is made natively, unless Options.Notify says otherwise.
func Harmless(nr int) bool { return table().harmless[nr] }
