# Runs the commands that come in on standard input, one a line, and answers
# each with its exit status. Standard input ends when the owner closes it or
# dies: then the server is stopped and its directory removed.
#
# usage: sh -c SCRIPT supervisor DIRECTORY BINDIR
dir=$1
bin=$2

# An answer to an owner that has just died must not end this script before it
# has cleaned up.
trap '' PIPE

while IFS= read -r command; do
	eval "$command" </dev/null >"$dir/command.log" 2>&1
	echo $?
done

# Standard output stays open until the directory is gone: its end tells the
# owner.
"$bin/pg_ctl" stop --silent --mode=immediate --pgdata="$dir/data" </dev/null >/dev/null 2>&1
rm -rf "$dir"
