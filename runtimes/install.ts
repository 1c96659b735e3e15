import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { packAll } from '../build/pack.js'
import { HERE } from './run/folders.js'

/** Installs what the lanes run on, unless it is here, and both packages as they would be published. */
installLocked()
installPackages()

/** Without scripts: the platform packages contain the programs themselves. */
function installLocked(): void {
  const lock = readFileSync(join(HERE, 'package-lock.json'), 'utf8')
  const stamp = join(HERE, 'node_modules/.installed')
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === lock) return
  execFileSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: HERE,
    stdio: 'inherit',
  })
  writeFileSync(stamp, lock)
}

/** Without the libraries of the sandbox: the lanes only check its types. */
function installPackages(): void {
  const temporary = mkdtempSync(join(tmpdir(), 'tix-webhooks-'))
  for (const tarball of packAll(temporary)) {
    const [name = ''] = basename(tarball).split(/-(?=\d)/)
    const installed = join(HERE, 'node_modules', name)
    rmSync(installed, { recursive: true, force: true })
    mkdirSync(installed, { recursive: true })
    execFileSync('tar', ['-xzf', tarball, '-C', installed, '--strip-components=1'])
  }
  rmSync(temporary, { recursive: true })
}
