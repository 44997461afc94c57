/* Service/tokens.h: who may do what, in memory: a copy of the database's tokens, and their rates.
 */
#ifndef HD_TOKENS_H
#define HD_TOKENS_H

#include "Service/request.h"

typedef struct hd_tokens hd_tokens;

/* rate: requests a second of one token, burst at once; 0: no limit. */
hd_tokens *hd_tokens_create(int64_t rate, int64_t burst, bool required);
void hd_tokens_free(hd_tokens *tokens); /* accepts NULL */
/* Reads them again; what was revoked ends within a keeper's round. */
hd_sql hd_tokens_refresh(hd_tokens *tokens, hd_store *store);
/* Whether everybody needs one: it was asked for, or one was ever made. */
bool hd_tokens_are_required(hd_tokens *tokens);

/* Who sends this Authorization header (NULL: none): "Bearer TOKEN", or "Basic" with the token as
 * the password. Refuses with token.missing or token.unknown. */
bool hd_tokens_identify(hd_tokens *tokens, hd_request *r, const char *authorization);
/* Takes one request from the asker's rate; refuses with `rate`. */
bool hd_tokens_spend(hd_tokens *tokens, hd_request *r);

#endif
