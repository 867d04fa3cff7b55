/** What `health` says where the watchdog started the service again, for a day; then why, behind a colon. */
export const startedAgain = "the watchdog started the service again";
