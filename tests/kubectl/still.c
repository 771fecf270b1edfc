/* A wall clock that stands where a file says, in seconds, for whoever loads this library. It is
   built by the test (seen.rs). The other clocks go on as ever. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *at)
{
    char text[32] = {0};
    int failed = (int)syscall(SYS_clock_gettime, clock, at), file;
    if (failed || (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE))
        return failed;
    file = open(FILE_OF_SECONDS, O_RDONLY | O_CLOEXEC);
    if (file >= 0 && read(file, text, sizeof text - 1) > 0) {
        at->tv_sec = strtol(text, NULL, 10);
        at->tv_nsec = 0;
    }
    if (file >= 0)
        close(file);
    return 0;
}

int gettimeofday(struct timeval *restrict at, void *restrict zone)
{
    struct timespec now;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &now);
    at->tv_sec = now.tv_sec;
    at->tv_usec = now.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *at)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (at)
        *at = now.tv_sec;
    return now.tv_sec;
}
