/** Draws the dashboard of a demo gateway for the README, which takes seven minutes: `npm run make:dashboard-svg`. */
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import chalk from 'chalk';
import { screenSvg } from '../src/tui/draw/svg.ts';
import { firstModel } from '../src/tui/model.ts';
import { pictureOf } from '../src/tui/picture.ts';
import { update } from '../src/tui/update/update.ts';
import { runDemo } from './demo-gateway.ts';

const SIZE = { columns: 120, rows: 30 };

// Of 256 colours, whatever the terminal has here: Ink colours with this instance.
chalk.level = 2;
const { snapshot, stored } = await runDemo();
const { model } = update(firstModel(stored, SIZE, snapshot.now_ms), { kind: 'snapshot', snapshot });
const image = screenSvg(pictureOf(model), SIZE.columns);
writeFileSync(fileURLToPath(new URL('../docs/dashboard.svg', import.meta.url)), image);
