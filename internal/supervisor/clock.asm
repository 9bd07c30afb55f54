# What the functions of the vDSO become: they read the clocks from words at their end, which the
# supervisor writes, and count their readings in a word of the program's own memory. Each reading shows 1 ns
# more; from the 4096th in a row on, without a call between, 4097 ns: so that a program that spins until a clock
# has gone on comes to an end.
# Assemble with: make clockcode
	.text
	.org 0
clock_gettime:				# (edi: clock, rsi: struct timespec *)
	cmp	$11, %edi
	ja	1f
	mov	$0x821, %eax		# CLOCK_REALTIME, _REALTIME_COARSE, _TAI
	bt	%edi, %eax
	jc	2f
	mov	$0xd2, %eax		# CLOCK_MONOTONIC, _MONOTONIC_RAW, _MONOTONIC_COARSE, _BOOTTIME
	bt	%edi, %eax
	jc	3f
1:	mov	$228, %eax
	syscall
	ret
2:	call	wall
	jmp	4f
3:	call	monotonic
4:	mov	%rcx, (%rsi)
	mov	%rax, 8(%rsi)
	xor	%eax, %eax
	ret
wall:					# -> rcx: seconds, rax: nanoseconds
	mov	wall_s(%rip), %rcx
	mov	wall_ns(%rip), %rax
	jmp	1f
monotonic:
	mov	monotonic_s(%rip), %rcx
	mov	monotonic_ns(%rip), %rax
1:	mov	readings(%rip), %rdx
	test	%rdx, %rdx
	jz	3f
	mov	(%rdx), %r8
	inc	%r8
	mov	%r8, (%rdx)
	add	%r8, %rax
	sub	$4096, %r8
	jbe	2f
	shl	$12, %r8
	add	%r8, %rax
2:	cmp	$1000000000, %rax
	jb	3f
	sub	$1000000000, %rax
	inc	%rcx
	jmp	2b
3:	ret
	.org 0xa0
gettimeofday:				# (rdi: struct timeval *, rsi: struct timezone *)
	test	%rdi, %rdi
	jz	1f
	call	wall
	mov	%rcx, (%rdi)
	xor	%edx, %edx
	mov	$1000, %ecx
	div	%rcx
	mov	%rax, 8(%rdi)
1:	test	%rsi, %rsi
	jz	2f
	movq	$0, (%rsi)
2:	xor	%eax, %eax
	ret
	.org 0xe0
time:					# (rdi: time_t *)
	call	wall
	mov	%rcx, %rax
	test	%rdi, %rdi
	jz	1f
	mov	%rax, (%rdi)
1:	ret
	.org 0x100
getcpu:					# (rdi: unsigned *cpu, rsi: unsigned *node)
	test	%rdi, %rdi
	jz	1f
	movl	$0, (%rdi)
1:	test	%rsi, %rsi
	jz	2f
	movl	$0, (%rsi)
2:	xor	%eax, %eax
	ret
	.org 0x120
getrandom:				# not here: the caller asks the kernel
	mov	$-38, %rax
	ret
	.org 0x130
clock_getres:
	mov	$229, %eax
	syscall
	ret
	.org 0x140
monotonic_s:	.quad 0
monotonic_ns:	.quad 0
wall_s:		.quad 0
wall_ns:	.quad 0
readings:	.quad 0
