// The command line and files as the CUDA samples read them: declarations for the host.
#pragma once
#ifdef GRIDLANE_PROGRAM
#error "this header is of the CUDA samples: name their folder, -I Common"
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <fstream>
#include <string>

#ifndef EXIT_WAIVED
#define EXIT_WAIVED 2
#endif
#define STRCASECMP strcasecmp
#define STRNCASECMP strncasecmp
#define STRCPY(to, bytes, from) strcpy(to, from)
#define FOPEN(file, name, mode) (file = fopen(name, mode))
#define FOPEN_FAIL(result) (result == NULL)
#define SSCANF sscanf
#define SPRINTF sprintf

int stringRemoveDelimiter(char delimiter, const char *text);
int getFileExtension(char *name, char **extension);
bool checkCmdLineFlag(int argc, const char **argv, const char *name);
template <typename T>
bool getCmdLineArgumentValue(int argc, const char **argv, const char *name, T *value);
int getCmdLineArgumentInt(int argc, const char **argv, const char *name);
float getCmdLineArgumentFloat(int argc, const char **argv, const char *name);
bool getCmdLineArgumentString(int argc, const char **argv, const char *name, char **value);
char *sdkFindFilePath(const char *name, const char *program);
