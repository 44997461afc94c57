/* Service/tokens.h: identification and permissions: a copy of the database's tokens in memory, and
 * their rate limits. */
#ifndef HD_TOKENS_H
#define HD_TOKENS_H

#include "Service/request.h"

typedef struct hd_tokens hd_tokens;

/* rate: requests per second and token; burst: requests at once; rate 0: no limit. */
hd_tokens *hd_tokens_create(int64_t rate, int64_t burst, bool required);
void hd_tokens_free(hd_tokens *tokens); /* accepts NULL */
/* Reads the tokens again. A revoked token ends within one round of the keeper. */
hd_sql hd_tokens_refresh(hd_tokens *tokens, hd_store *store);
/* Whether a token is required: by the configuration, or because a token was ever created. */
bool hd_tokens_are_required(hd_tokens *tokens);

/* Identifies the sender by this Authorization header (NULL: none): "Bearer TOKEN", or "Basic" with
 * the token as the password. Refuses with token.missing or token.unknown. */
bool hd_tokens_identify(hd_tokens *tokens, hd_request *r, const char *authorization);
/* Counts a request in the sender's rate limit; refuses with `rate`. */
bool hd_tokens_spend(hd_tokens *tokens, hd_request *r);

#endif
