//! Cases with environment variables, and with invalid starts of a sandbox.

use crate::suite::case::{AttackCase, BreachSign, ExpectedOutcome, good, host, text};

const R: [ExpectedOutcome; 3] = [ExpectedOutcome::Refuses; 3];

pub(super) const CASES: &[AttackCase] = &[
    text("3F-136", "the provider's key", "sk-host", "env"),
    text("3F-136b", "a token", "token-host", "env"),
    text("3F-136g", "a token by a name that does not tell", "ghp_0123", "env")
        .wrap("export FOO=ghp_0123456789abcdefghijABCDEFGHIJ012345; exec \"$@\""),
    text("3F-136h", "a variable that is not passed", "RANDOM_NAME=", "env")
        .wrap("export RANDOM_NAME=1; exec \"$@\""),
    good("3F-136i", "a variable by --env", "given set", "echo $GIVEN $SET")
        .flags(&["--env", "GIVEN", "--env", "SET=set"])
        .wrap("export GIVEN=given SET=set; exec \"$@\"")
        .control("echo given set"),
    text("3F-136c", "the agent's socket", "SSH_AUTH_SOCK=", "env"),
    text("3F-136d", "what a shell would load", "loaded", "echo $X; env | grep BASH_ENV && echo loaded")
        .setup("echo 'X=loaded' > rc")
        .wrap("export BASH_ENV=$WS/rc; exec \"$@\""),
    text("3F-136e", "a function of the outer shell", "function-ran", "f1")
        .wrap("f1() { echo function-ran; }; export -f f1; exec \"$@\""),
    good("3F-136f", "PATH and HOME", "home", "echo $PATH $HOME"),
    host("3F-150", "the workspace is the root of all", "echo x > $OUT/new")
        .flags(&["--cwd", "/"])
        .expect(ROOTED)
        .as_root(R),
    host("3F-150b", "the workspace is not there", "echo x")
        .flags(&["--cwd", "$D/none"])
        .control("echo x > $OUT/new")
        .expect(R),
    host("3F-150c", "the workspace is a file", "echo x")
        .flags(&["--cwd", "$OUT/v"])
        .control("echo x > $OUT/new")
        .expect(R),
    host("3F-150d", "a tier that is too weak", "echo x > $OUT/new")
        .flags(&["--require", "namespaces"])
        .expect(WEAK),
    host("3F-150e", "a writable root that is a link", "echo x > $OUT/d/new")
        .flags(&["--writable", "$WS/dlnk"])
        .expect([ExpectedOutcome::Gap("a link that the user names is followed"); 3]),
    good("3F-152", "danger-full-access is as it says", "LET", "$P create $OUT/../new2; rm $OUT/../new2")
        .flags(&["--mode", "danger-full-access"])
        .sees(BreachSign::Nothing),
];

const WEAK: [ExpectedOutcome; 3] =
    [ExpectedOutcome::Holds, ExpectedOutcome::Refuses, ExpectedOutcome::Refuses];
const ROOTED: [ExpectedOutcome; 3] = R;
