/* An actuator that does nothing, has no capabilities, and says that it has done it. It finds the
   key and the target by their names, which is enough for requests that scalectl writes. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char request[65536];

int main(void) {
    size_t length = 0;
    ssize_t got;
    while (length < sizeof request - 1
           && (got = read(0, request + length, sizeof request - 1 - length)) > 0)
        length += (size_t)got;
    const char *key = strstr(request, "\"execution_key\":\"");
    const char *target = strstr(request, "\"target\":{");
    const char *desired = strstr(request, "\"desired_replicas\":");
    if (!key || !target || !desired) {
        printf("{\"protocol\":\"scalectl.actuator/1\",\"name\":\"nothing\",\"version\":\"1\","
               "\"environment\":[],\"capabilities\":{}}\n");
        return 0;
    }
    key += strlen("\"execution_key\":\"");
    target += strlen("\"target\":");
    desired += strlen("\"desired_replicas\":");
    printf("{\"protocol\":\"scalectl.actuator/1\",\"result\":{\"schema_version\":\"1\","
           "\"execution_key\":\"%.*s\",\"target\":%.*s,\"state\":\"succeeded\",\"scaled\":true,"
           "\"observed_replicas\":%.*s,\"error_code\":null,\"retryable\":false,"
           "\"detail\":\"\",\"actuator_operation_id\":null},"
           "\"outcome_unknown\":false,\"rollback_required\":false,"
           "\"resource_version_after\":null}\n",
           (int)strcspn(key, "\""), key, (int)strcspn(target, "}") + 1, target,
           (int)strspn(desired, "0123456789"), desired);
    return 0;
}
