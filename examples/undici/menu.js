// Reads the menu of a barista three times, while `npm start` runs: each time the sidecar's client picks one of them.
//   node examples/undici/menu.js
import { connect } from '@spock/client';
import { createFetch } from '@spock/undici';

const diplomat = await connect();
const fetch = createFetch({ diplomat });
for (let turn = 0; turn < 3; turn++) {
	const response = await fetch('http://barista.spock/menu');
	console.log(response.status, (await response.text()).trim());
}
await fetch.close();
await diplomat.drain();
