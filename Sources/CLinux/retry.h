/* The result of a system call, repeated while a signal interrupts it; the negated errno where it failed. */
#ifndef CL_RETRY_H
#define CL_RETRY_H

#define RETRY(call)                                            \
    ({                                                         \
        __typeof__(call) cl_result;                            \
        do cl_result = (call);                                 \
        while (cl_result < 0 && errno == EINTR);               \
        cl_result < 0 ? (__typeof__(call))-errno : cl_result;  \
    })

#endif
