/* conformance-lock FILE OFFSET: holds a write lock on one byte of the file until standard input ends; says "held" when it has it. Byte 120 of
   SQLite's -shm file is the lock of whoever writes to the database. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv) {
  struct flock lock = {0};
  int fd;
  if (argc != 3 || (fd = open(argv[1], O_RDWR)) < 0) return 2;
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = atol(argv[2]);
  lock.l_len = 1;
  if (fcntl(fd, F_SETLKW, &lock) != 0) return 3;
  puts("held");
  fflush(stdout);
  while (getchar() != EOF) {
  }
  return 0;
}
