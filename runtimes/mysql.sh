#!/usr/bin/env bash
# Runs all tests that use a MySQL on one of Oracle's, which Debian's stable releases do not have: npm run test:mysql -- [WORDS OF A VARIANT]
# It comes from the unstable suite of this machine's Debian, into a folder of its own, so that nothing else changes: 1.3 GB, some minutes, as root.
set -euo pipefail
cd "$(dirname "$0")/.."
export MYSQL_ROOT=${MYSQL_ROOT:-/var/cache/tix-webhooks-mysql}

install() {
  command -v debootstrap >/dev/null || { apt-get update -qq && apt-get install -qq -y debootstrap; } >/dev/null
  local mirror
  # One of the two forms is missing.
  mirror=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/*.sources 2>/dev/null |
    awk '/security/ { next } $1 == "URIs:" { print $2 } $1 == "deb" { print $(2 + ($2 ~ /^\[/)) }' | head -n 1 || true)
  mkdir -p "$MYSQL_ROOT"
  debootstrap --variant=minbase sid "$MYSQL_ROOT" "$mirror" >"$MYSQL_ROOT.log" 2>&1
  chroot "$MYSQL_ROOT" env DEBIAN_FRONTEND=noninteractive apt-get -o APT::Sandbox::User=root install -y --no-install-recommends \
    mysql-server-core >>"$MYSQL_ROOT.log" 2>&1
}

# The data of a new server, which each server of the tests begins with a copy of.
make_data() {
  rm -rf "$MYSQL_ROOT/srv/data"
  cat >"$MYSQL_ROOT/srv/accounts.sql" <<'SQL'
CREATE USER 'tests'@'%' IDENTIFIED WITH caching_sha2_password BY 'secret';
GRANT ALL ON *.* TO 'tests'@'%' WITH GRANT OPTION;
SQL
  chroot "$MYSQL_ROOT" /usr/sbin/mysqld --no-defaults --user=root --datadir=/srv/data --innodb-redo-log-capacity=16M \
    --initialize-insecure --init-file=/srv/accounts.sql >>"$MYSQL_ROOT.log" 2>&1
}

[ -x "$MYSQL_ROOT/usr/sbin/mysqld" ] || install || { tail -n 5 "$MYSQL_ROOT.log" >&2 && exit 1; }
[ -d "$MYSQL_ROOT/srv/data/mysql" ] || make_data || { tail -n 5 "$MYSQL_ROOT.log" >&2 && exit 1; }

# Each is of a managed service, or of an administrator.
variants=(
  --innodb-flush-log-at-trx-commit=1
  --sql-require-primary-key=ON
  '--gtid-mode=ON --enforce-gtid-consistency=ON'
  --transaction-isolation=READ-COMMITTED
  --innodb-lock-wait-timeout=1
  --skip-log-bin
)
failed=()
for variant in "${variants[@]}"; do
  [[ $variant == *"${*:-}"* ]] || continue
  echo "mysqld $variant"
  export MYSQLD_OPTIONS=$variant
  # Without the tests of other servers beside it.
  npx vitest run --project servers test/stores/mysql --reporter=dot || failed+=("$variant")
  npx vitest run --project servers test/stores/*.test.ts test/stores/databases test/proof test/examples --reporter=dot \
    -t '[Mm]y[Ss][Qq][Ll]|[Mm]aria' || failed+=("$variant")
done
for variant in "${failed[@]}"; do echo "FAILED: mysqld $variant" >&2; done
[ ${#failed[@]} -eq 0 ]
