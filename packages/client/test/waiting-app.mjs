// An app that does nothing but wait for a sidecar.
//   node waiting-app.mjs [PATH] [READY_TIMEOUT_MS]
import { connect } from '@spock/client';

const [path, timeout] = process.argv.slice(2);
const diplomat = await connect({
	unref: true,
	...(path && { path }),
	...(timeout && { readyTimeoutMs: Number(timeout) }),
});
process.stdout.write(diplomat.status().state);
