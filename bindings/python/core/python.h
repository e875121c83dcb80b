#pragma once
// Python.h of the limited API: one extension loads into each CPython from 3.11 on.

#ifndef Py_LIMITED_API
#define Py_LIMITED_API 0x030B0000
#endif
#define PY_SSIZE_T_CLEAN
#include <Python.h>
