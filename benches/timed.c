/* timed PROGRAM ARG...: runs it with no input and no output; prints the nanoseconds from its spawn
   to its end, its exit code (-1 for a death by signal) and its peak memory in KiB. A process of its
   own, because the peak of a child begins with that of whoever spawned it. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

extern char **environ;

static long long now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

int main(int argc, char **argv) {
    posix_spawn_file_actions_t files;
    struct rusage usage;
    pid_t pid;
    int status;
    if (argc < 2) return 2;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0);
    long long began = now_ns();
    if (posix_spawnp(&pid, argv[1], &files, NULL, argv + 1, environ)) return 127;
    if (wait4(pid, &status, 0, &usage) != pid) return 1;
    printf("%lld %d %ld\n", now_ns() - began, WIFEXITED(status) ? WEXITSTATUS(status) : -1,
           usage.ru_maxrss);
    return 0;
}
