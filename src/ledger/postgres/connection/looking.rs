//! Who is in the way of a wait: the server is asked on another connection, because the one that
//! waits can ask nothing.
//!
//! Whoever may connect may see who holds a lock and which role that is; what that session is at is
//! shown to its own role and to members of `pg_read_all_stats` only.

use tokio::time::timeout;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Row};

use super::{Server, Warnings};
use crate::ledger::in_the_way::{InTheWay, ServerHolder};

/// Of one process that waits (0 for none) and of locks that are wanted: who has them, those who
/// wait for nobody first; and, where nobody has, what the process itself is at.
const WHO: &str = "SELECT CAST(holder.pid AS BIGINT), coalesce(seen.application_name, ''),
    coalesce(CAST(seen.usename AS TEXT), ''),
    CASE WHEN seen.wait_event = 'SyncRep' THEN 'its COMMIT waits for a standby'
         WHEN seen.state LIKE 'idle in transaction%' THEN 'idle in its transaction'
         WHEN EXISTS (SELECT FROM pg_catalog.pg_locks AS other
                      WHERE other.pid = holder.pid AND NOT other.granted)
             THEN 'waiting for a lock itself'
         ELSE '' END,
    (SELECT coalesce(wait_event, '') FROM pg_catalog.pg_stat_activity
     WHERE pid = $1 AND usename = session_user)
    FROM (SELECT 1) AS one
    LEFT JOIN (
        SELECT unnest(pg_blocking_pids(CAST($1 AS INTEGER))) AS pid
        UNION
        SELECT held.pid FROM unnest(string_to_array($2, ' ')) AS wanted
        JOIN pg_catalog.pg_locks AS held
          ON held.locktype = 'advisory' AND held.granted AND held.objsubid = 1
             AND held.database = (SELECT oid FROM pg_catalog.pg_database
                                  WHERE datname = current_database())
             AND (CAST(held.classid AS BIGINT) << 32 | CAST(held.objid AS BIGINT))
                 = CAST(substr(wanted, 2) AS BIGINT)
             AND (wanted LIKE 'x%' OR held.mode = 'ExclusiveLock')
        WHERE held.pid <> pg_backend_pid()
    ) AS holder ON true
    LEFT JOIN pg_catalog.pg_stat_activity AS seen ON seen.pid = holder.pid
    ORDER BY EXISTS (SELECT FROM pg_catalog.pg_locks AS other
                     WHERE other.pid = holder.pid AND NOT other.granted), seen.xact_start
    LIMIT 1";

fn read(row: &Row) -> Result<InTheWay, tokio_postgres::Error> {
    if let Some(backend) = row.try_get::<_, Option<i64>>(0)? {
        let (application, role, at) = (row.try_get(1)?, row.try_get(2)?, row.try_get(3)?);
        return Ok(InTheWay::Holder(Box::new(ServerHolder { application, backend, role, at })));
    }
    Ok(match row.try_get::<_, Option<&str>>(4)? {
        // A session that is not there waits elsewhere.
        None => InTheWay::Unknown,
        Some("SyncRep") => InTheWay::Standby,
        Some(_) => InTheWay::Nobody,
    })
}

async fn ask(client: &Client, backend: i64, locks: &str) -> Option<InTheWay> {
    let parameters: [(&(dyn ToSql + Sync), Type); 2] =
        [(&backend, Type::INT8), (&locks, Type::TEXT)];
    let row = client.query_typed_one(WHO, &parameters).await.ok()?;
    read(&row).ok()
}

impl Server {
    /// What is in the way of a process of the server, asked on a connection of its own.
    pub(super) async fn who_is_in_the_way(&self, backend: i64) -> InTheWay {
        let looked = timeout(self.look_patience(), async {
            let client = self.connected(&Warnings::default()).await?;
            Ok::<_, tokio_postgres::Error>(ask(&client, backend, "").await)
        });
        match looked.await {
            Ok(Ok(found)) => found.unwrap_or(InTheWay::Unknown),
            // It has said something: too many connections, it is starting or stopping.
            Ok(Err(error)) if error.as_db_error().is_some() => InTheWay::Unknown,
            // It has answered before: a pooler may have no other connection free.
            Ok(Err(_)) | Err(_) if backend != 0 => InTheWay::Unknown,
            Ok(Err(_)) | Err(_) => InTheWay::Silence,
        }
    }

    /// Who has locks that could not be had; asked when they are not waited for any more.
    pub(in super::super) fn who_has(&self, locks: &str) -> Option<InTheWay> {
        let link = self.link.borrow();
        let connected = link.as_ref().filter(|link| !link.client.is_closed())?;
        let asked = self.within(self.look_patience(), ask(&connected.client, 0, locks));
        let is_over = asked.is_err();
        drop(link);
        if is_over {
            drop(self.link.take());
        }
        asked.ok().flatten()
    }
}
