import type { StatusReply } from '@spock/protocol';

import { answer, type Handler } from '../server/answer.ts';

/** What the sidecar knows of itself. */
export function statusHandler(status: () => StatusReply): Handler<'status'> {
	return () => answer(status());
}
