// An app that does nothing but wait for a sidecar.
//   node waiting-app.mjs PATH
import { connect } from '@spock/client';

const diplomat = await connect({ path: process.argv[2], unref: true });
process.stdout.write(diplomat.status().state);
