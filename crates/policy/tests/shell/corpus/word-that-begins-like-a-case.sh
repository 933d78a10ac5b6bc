case<(alpha) in
b) beta;; *) gamma;; esac
